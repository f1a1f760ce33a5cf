package watch

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"caucus/coordinator/records"
	"caucus/internal/webpage"
	"caucus/study"
)

//go:embed page.html
var pageText embed.FS

// page shows an operator the output of "caucus study list", "study show", "party list" and "ledger
// show". It is for those with access to the coordinator's folder.
//
// Privacy and load:
//
//   - The page shows nothing beyond those commands: names, states, counts, public terms, and why
//     studies wait for members. It does not show when a contribution came. It shows a release's
//     page only if the plan names no readers; otherwise only the readers get the release.
//   - It changes nothing. Its only form is the one that logs out.
//   - A load reads snapshots of the store, which wait for no writer, and takes no lock of a study:
//     it neither waits for a fold nor delays one. The ledger is read separately (ledgerLook): its
//     reader waits for a draw, and a load then shows the last reading. The cost of a load is
//     bounded (places, lookTime, mostShown).
type page struct {
	server    *WatchedParts
	guard     *webpage.Guard
	templates *template.Template
	plans     planCache
	ledger    ledgerLook
	places    chan struct{} // one place for each load
}

// pageLasts is the lifetime of an operator's session.
const pageLasts = 12 * time.Hour

const (
	mostShownStudies = 60
	mostShownMembers = 300
	mostShownNames   = 120
)

func newPage(s *WatchedParts) (*page, error) {
	text, err := pageText.ReadFile("page.html")
	if err != nil {
		return nil, err
	}
	templates, err := webpage.Templates(string(text))
	if err != nil {
		return nil, fmt.Errorf("read the page's templates: %w", err)
	}
	p := &page{
		server: s, templates: templates, places: make(chan struct{}, 4),
		guard: &webpage.Guard{Dir: s.Config.Dir, Command: "caucus coordinator page --dir " + s.Config.Dir, SessionLifetime: pageLasts, Clock: s.Config.Clock, Log: s.Config.Log},
	}
	p.ledger.open(s)
	return p, nil
}

func (p *page) close() { p.ledger.close() }

func (p *page) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.load(p.overview))
	mux.HandleFunc("GET /study/{hash}", p.load(p.study))
	mux.HandleFunc("GET /study/{hash}/report", p.load(p.report))
	return mux
}

var errNotHere = errors.New("there is no such study here")

// load answers with the page that the function make wrote, or with its error.
func (p *page) load(make func(ctx context.Context, r *http.Request,
	to *bytes.Buffer) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case p.places <- struct{}{}:
			defer func() { <-p.places }()
		default:
			webpage.WriteMessage(w, http.StatusServiceUnavailable,
				"Too many pages are open at once",
				"Load it again in a moment.")
			return
		}
		ctx, stop := context.WithTimeout(r.Context(), lookTime)
		defer stop()
		var text bytes.Buffer
		err := make(ctx, r, &text)
		switch {
		case errors.Is(err, errNotHere):
			webpage.WriteMessage(w, http.StatusNotFound, "There is no such page", "It may be of another coordinator, or of an older link.")
		case err != nil:
			p.server.Config.Log.Warn("a page could not be made", "error", err)
			webpage.WriteMessage(w, http.StatusServiceUnavailable, "The page could not be made now", "The store could not be read in time; the log says why. Load it again.")
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(text.Bytes()) // the reader may have gone
		}
	}
}

// refresh is the interval in seconds at which a browser asks again.
const refresh = 5

func (p *page) top(r *http.Request, title, here string) webpage.Top {
	return webpage.Top{
		Title: title, Base: webpage.LinkBase(r), Refresh: refresh, Still: r.URL.Query().Get("still") != "", Here: here, Of: "Coordinator " + p.server.Address,
		About: fmt.Sprintf("As of %s. It started on %s: who called before is not known.", p.server.Config.Clock.Now().UTC().Format("15:04:05 MST"), p.server.Started.UTC().Format("2 January 15:04 MST")),
	}
}

func (p *page) overview(ctx context.Context, r *http.Request, to *bytes.Buffer) error {
	all, err := p.look(ctx)
	if err != nil {
		return err
	}
	return p.templates.ExecuteTemplate(to, "overview", struct {
		Top webpage.Top
		overview
	}{p.top(r, "What this coordinator does", "/"), all})
}

func (p *page) study(ctx context.Context, r *http.Request, to *bytes.Buffer) error {
	one, err := p.lookAt(ctx, r.PathValue("hash"))
	if err != nil {
		return err
	}
	top := p.top(r, one.Name, "/study/"+one.Hash)
	if one.Over {
		top.Refresh = 0
	}
	return p.templates.ExecuteTemplate(to, "study", struct {
		Top webpage.Top
		studyLook
	}{top, one})
}

func (p *page) report(ctx context.Context, r *http.Request, to *bytes.Buffer) error {
	one, err := p.lookAt(ctx, r.PathValue("hash"))
	if err != nil {
		return err
	}
	if !one.Report {
		return errNotHere
	}
	var row records.Release
	err = p.server.Store.View(ctx, func(tx records.Tx) (err error) {
		row, err = tx.Release(one.hash)
		return err
	})
	if err != nil {
		return err
	}
	var release study.Release
	if err := json.Unmarshal(row.Document, &release); err != nil {
		return fmt.Errorf("read release: %w", err)
	}
	return p.server.Config.Report(to, release)
}
