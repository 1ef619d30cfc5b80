/* oid.h - the object identifiers that Warded reads and writes, as DER content.
 *
 * Private to proto/tls.  Threads: any.  Owns: nothing.
 * Source:  RFC 5280 section 4.2; X.660 for arcs under 2.25. */
#ifndef WD_OID_H
#define WD_OID_H

/* 2.5.29.17 */
#define WD_OID_SUBJECT_ALT_NAME "\x55\x1d\x11"

/* 2.25.187663191962772120820425601056173538086: 105 (= 2 * 40 + 25), then the 128-bit
 * number in base 128; one more byte, the fact's number, makes a fact's OID. */
#define WD_OID_FACTS                                                                   \
    "\x69"                                                                             \
    "\x82\x9a\xae\xce\xed\xfa\x88\xf2\x8d\x91\x9f\xce\x84\x9e\x97\xa4\xc4\xf6\x26"

/* Bytes of such a literal, without its NUL. */
#define WD_OID_SIZE(literal) (sizeof(literal) - 1)

#endif
