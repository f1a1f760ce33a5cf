package webpage

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"strconv"
)

// Style is the look of every page. Each page contains it.
//
//go:embed page.css
var Style string

//go:embed frame.html
var frame string

// Templates parses a page's templates together with those that all served pages share:
//
//	{{template "top" .}}     up to the content; . is a Top
//	{{template "bottom" .}}  from the content's end; . is a Top
func Templates(text string) (*template.Template, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"style":  func() template.CSS { return template.CSS(Style) }, // the style is our own text
		"number": func(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) },
	}).Parse(frame)
	if err != nil {
		return nil, err
	}
	return t.Parse(text)
}

// Top is the frame around the content of a served page.
type Top struct {
	Title string
	// Base is the session's path, with which links start: see [LinkBase].
	Base string
	// Refresh is the number of seconds after which the browser loads the page again, 0 for never.
	// Still reports that the person paused the reloading. Here is the page's path below LinkBase.
	Refresh int
	Still   bool
	Here    string
	// Of is the name of the page's owner. About is the moment that the page shows.
	Of, About string
}

// policy is the pages' Content-Security-Policy: only our style, and forms that are sent back here.
var policy = func() string {
	sum := sha256.Sum256([]byte(Style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()
