# What `cmake --install` adds to the programs and the Python package: the unit of systemd
# and the documents. The unit is written for /usr; another prefix is put in its place.
install(CODE [[
    set(systemd ${CMAKE_INSTALL_PREFIX}/lib/systemd/system)
]])
install(CODE "
    file(READ ${CMAKE_SOURCE_DIR}/deploy/systemd/warded.service unit)
    string(REPLACE /usr/ \${CMAKE_INSTALL_PREFIX}/ unit \"\${unit}\")
    message(STATUS \"Installing: \$ENV{DESTDIR}\${systemd}/warded.service\")
    file(WRITE \$ENV{DESTDIR}\${systemd}/warded.service \"\${unit}\")
")
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/warded
    FILES_MATCHING PATTERN *.md)
