/* notify.h - tells the service manager how far we are (sd_notify(3)'s datagram).
 *
 * Threads: any.  Owns: nothing.  Does nothing where NOTIFY_SOCKET is not set. */
#ifndef WD_SERVER_NOTIFY_H
#define WD_SERVER_NOTIFY_H

/* "READY=1", "STOPPING=1", "STATUS=text". Failures are ignored. */
void wd_notify(const char *state);

#endif
