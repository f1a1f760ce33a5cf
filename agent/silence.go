package agent

import (
	"net/http"
	"sync"
	"time"
)

// silence holds back all answers of the agent's servers while the agent learns from records (window).
type silence struct {
	mu      sync.Mutex    // guards the fields below
	over    chan struct{} // closed when the silence ends; nil without a silence
	servers []*http.Server
}

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

// keepAlives closes idle connections, or lets them stay open again. If they stayed open during the silence, a timer
// would close them at a moment that others could observe.
func (s *silence) keepAlives(on bool) {
	for _, server := range s.servers {
		server.SetKeepAlivesEnabled(on)
	}
}

func (s *silence) serves(server *http.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	server.Handler = s.hold(server.Handler)
	s.servers = append(s.servers, server)
}

// hold makes requests wait for the end of a silence. It drops a request whose client went away.
func (s *silence) hold(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		over := s.over
		s.mu.Unlock()
		if over != nil {
			c := http.NewResponseController(w)
			var none time.Time // no deadline, because a deadline would end a held request at a moment that could be observed
			_, _ = c.SetReadDeadline(none), c.SetWriteDeadline(none)
			<-over
			if r.Context().Err() != nil {
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
