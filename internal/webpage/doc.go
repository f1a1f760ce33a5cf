// Package webpage holds the common look of this program's pages, including reports, and controls
// access to the pages that a daemon serves.
//
// A served page is for one person at the daemon's machine. The package guarantees:
//
//   - A page opens with a link that works once, for a short time. [NewLink] makes it in the
//     daemon's folder. Whoever can write there can act for the daemon anyway, so a page gives
//     nobody a new right. A link is for one run of the daemon: whoever listens at its address while
//     the daemon is down learns links that open nothing.
//   - A session needs two halves: a path that nobody can guess, and a cookie for this path alone.
//     Programs at other ports of this machine, to which a browser would send a cookie of the whole
//     host, get neither. An address seen over a shoulder opens nothing.
//   - DNS rebinding and another page's frame, form, picture or script get nothing: Host, Origin and
//     Sec-Fetch-Site are checked, and framing is refused.
//   - A page runs no script and requests nothing from elsewhere; its Content Security Policy
//     forbids both. No cache keeps it, and no other site learns its address.
//   - Open connections are bounded in number and in time.
//
// It does not defend against root on this machine, nor against the person's browser and its
// extensions. There is no TLS: [CheckAddress] accepts only loopback addresses and Unix sockets.
// From another machine, forward the port with ssh -L.
package webpage
