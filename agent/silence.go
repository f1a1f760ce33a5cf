package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"caucus/internal/folder"
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

// errSilent: an agent at work on the state folder says nothing, and so may nobody else who
// would be heard while it works.
var errSilent = errors.New("a contribution is being prepared on this state folder, and until it has left nothing here calls the coordinator: try again then")

// speaks lets this process call the coordinator until it is told that it hung up. Any
// number of processes may; none while an agent on the folder is silent.
func speaks(c Config) (hungUp func(), err error) {
	release, err := folder.ShareFile(voiceFile(c))
	if errors.Is(err, folder.ErrHeld) {
		return nil, errSilent
	}
	if err != nil {
		return nil, fmt.Errorf("look whether an agent is at work: %w", err)
	}
	return release, nil
}

func voiceFile(c Config) string { return filepath.Join(c.State, "voice") }

// fallSilent ends all that is said: once it returns, the last byte has left this agent, no
// command that a person typed here is calling the coordinator or can, and nothing that is
// served answers, until speak is called.
func (a *Agent) fallSilent(ctx context.Context) (speak func(), err error) {
	if err := a.link.HangUp(); err != nil {
		return nil, fmt.Errorf("hang up before a contribution is prepared: %w", err)
	}
	end := a.silence.begin()
	for {
		release, err := folder.LockFile(voiceFile(a.state.config))
		if err == nil {
			return func() { release(); end() }, nil
		}
		// A command's calls are bounded, whatever the coordinator does to keep it.
		if !errors.Is(err, folder.ErrHeld) || !a.clock.Sleep(ctx, time.Second) {
			end()
			return nil, errors.Join(err, ctx.Err())
		}
	}
}
