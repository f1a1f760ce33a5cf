package dates

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// monthNames are the months, January first, in the languages of a draft's synonyms (package
// mapping): English, German, French, Spanish, Italian, Dutch and Portuguese, without accents. A
// short form that does not begin its name, such as mrt for maart, is listed too.
var monthNames = [12][]string{
	{"january", "januar", "jaenner", "janner", "janvier", "enero", "gennaio", "januari", "janeiro"},
	{"february", "februar", "feber", "fevrier", "febrero", "febbraio", "februari", "fevereiro"},
	{"march", "marz", "maerz", "mrz", "mars", "marzo", "maart", "mrt", "marco"},
	{"april", "avril", "abril", "aprile"},
	{"may", "mai", "mayo", "maggio", "mei", "maio"},
	{"june", "juni", "juin", "junio", "giugno", "junho"},
	{"july", "juli", "juillet", "julio", "luglio", "julho"},
	{"august", "aout", "agosto", "augustus"},
	{"september", "septembre", "septiembre", "settembre", "setembro"},
	{"october", "oktober", "octobre", "octubre", "ottobre", "outubro"},
	{"november", "novembre", "noviembre", "novembro"},
	{"december", "dezember", "decembre", "diciembre", "dicembre", "dezembro"},
}

// monthNamed returns the month, 1 to 12, of which a text is the name or the first letters, three at
// least, in one of the languages; 0 if it is no month's, or that of two months (jui: juin,
// juillet). Case and accents do not matter.
func monthNamed(text string) int {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(text))
	found := 0
	for i, names := range monthNames {
		for _, name := range names {
			switch {
			case len(text) < 3 || !strings.HasPrefix(name, text):
			case found != 0 && found != i+1:
				return 0
			default:
				found = i + 1
			}
		}
	}
	return found
}
