// Package webpage is about the pages of this program: how they look, and who may open
// those that a daemon serves. Reports and both daemons' pages share the look.
//
// A served page is for one person at the daemon's machine. It guarantees that
//
//   - it opens with a link that works once, for a short time. [NewLink] makes one in
//     the daemon's own folder, so whoever may make a link may act for the daemon
//     anyway: a page is no second way to a right;
//   - a session takes two halves, a path that nobody can guess and a cookie for that
//     path alone. Programs at other ports of this machine, to which a browser would
//     send a cookie of the whole host, get neither; an address that was seen over a
//     shoulder opens nothing;
//   - a name that was pointed here, another page's frame, form, picture or script
//     finds nothing: Host, Origin and Sec-Fetch-Site are checked, and framing is
//     refused;
//   - a page runs no script and asks for nothing from elsewhere, by its Content
//     Security Policy too. It is kept in no cache, and its address is told to nobody;
//   - whoever holds connections open holds a bounded number, each for a bounded time.
//
// It does not defend against whoever is root on that machine, or against the person's
// own browser and its extensions. There is no TLS: [CheckAddress] takes loopback
// addresses and Unix sockets only. From another machine, carry the port over: ssh -L.
package webpage
