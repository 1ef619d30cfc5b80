"""The generator behind protoc-gen-warded: read -> model -> check -> render.

    read    descriptors of protoc into the model; the only module that knows protobuf
    model   what is generated, as plain frozen data
    check   what is refused, and why
    names   how a protobuf name looks in C
    c, c_client, py   the model as text
    plugin  protoc's request in, protoc's response out

It knows nothing of Warded's own services.
"""
