package agent

import (
	"net/http"
	"sync"
	"time"
)

// silence is what an agent keeps while it reads and learns from records: window has the
// proof of why. Nothing that it serves answers, to whoever asks.
type silence struct {
	mu      sync.Mutex    // guards what follows
	over    chan struct{} // closed at its end; nil while there is none
	servers []*http.Server
}

// begin starts a silence that lasts until end is called.
func (s *silence) begin() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := make(chan struct{})
	s.over = over
	s.keepAlives(false)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.over = nil
		s.keepAlives(true)
		close(over)
	}
}

// keepAlives closes connections on which nothing is asked, or lets them be kept again:
// one that is open would be closed by a timer meanwhile, and when could be heard.
func (s *silence) keepAlives(on bool) {
	for _, server := range s.servers {
		server.SetKeepAlivesEnabled(on)
	}
}

// serves adds a server whose handler it holds.
func (s *silence) serves(server *http.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	server.Handler = s.hold(server.Handler)
	s.servers = append(s.servers, server)
}

// hold has requests wait for the end of a silence. Of whoever went away nothing is done.
func (s *silence) hold(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		over := s.over
		s.mu.Unlock()
		if over != nil {
			c := http.NewResponseController(w)
			var none time.Time // no timer says a word
			_, _ = c.SetReadDeadline(none), c.SetWriteDeadline(none)
			<-over
			if r.Context().Err() != nil {
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
