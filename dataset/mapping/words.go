package mapping

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"caucus/dataset"
	"caucus/internal/yamlfile"
)

// sameThing lists column names with the same meaning, without case, spaces and signs.
var sameThing = [][]string{
	{"age", "alter", "lebensalter", "alterinjahren", "ageyears", "ageatadmission", "edad", "eta",
		"leeftijd", "geburtsdatum", "geburtstag", "gebdat", "birthdate", "dateofbirth", "dob",
		"born", "birthday", "birthdatetime", "geboren", "datedenaissance",
		"geboortedatum", "fechadenacimiento", "fechanacimiento", "nacimiento", "datadinascita",
		"nascita", "naissance"},
	{"sex", "gender", "geschlecht", "geschl", "sexe", "sexo", "sesso", "geslacht", "genderconceptid"},
	{"weight", "gewicht", "körpergewicht", "koerpergewicht", "weightkg", "gewichtkg", "poids", "peso"},
	{"height", "größe", "groesse", "körpergröße", "koerpergroesse", "heightcm", "taille"},
	{"creatinine", "creat", "crea", "krea", "kreatinin", "serumcreatinine", "creatinina", "créatinine"},
	{"glucose", "glukose", "blutzucker", "bz", "gluc", "glycemia", "glucosa"},
	{"diagnosis", "diagnose", "hauptdiagnose", "diag", "dx", "maindiagnosis", "diagnostic"},
	{"smoker", "raucher", "smoking", "smokingstatus", "raucherstatus", "fumeur"},
	{"days", "lengthofstay", "los", "verweildauer", "liegedauer", "aufenthaltsdauer", "liegetage", "stay"},
	{"patient", "patientid", "patientnbr", "patientnumber", "patientennummer", "patnr", "patid", "subjectid", "personid", "mrn"},
	{"died", "dead", "death", "verstorben", "tod", "gestorben", "mortality", "deceased"},
	{"readmitted", "readmission", "wiederaufnahme", "wiederaufgenommen"},
	{"systolicbp", "systolic", "sbp", "rrsyst", "systolisch", "blutdrucksystolisch", "sysbp"},
	{"heartrate", "herzfrequenz", "puls", "pulse", "hr", "frequencecardiaque"},
	{"cholesterol", "chol", "cholesterin", "gesamtcholesterin", "cholestérol", "colesterol"},
	{"chestpain", "brustschmerz", "thoraxschmerz"},
	{"disease", "ill", "erkrankung", "krankheit", "krank", "maladie"},
	{"bmi", "bodymassindex"},
	{"hospital", "site", "klinik", "krankenhaus", "centre", "center"},
}

// sameWord lists texts for the same level, in groups of levels that stand beside each other. A
// group holds only for levels that have one of each of its lists: no word for no means the F of F
// and M.
var sameWord = [][][]string{
	{
		{"f", "female", "woman", "w", "weiblich", "frau", "femme", "féminin", "mujer", "femenino", "vrouw", "femmina", "8532"},
		{"m", "male", "man", "männlich", "maennlich", "mann", "homme", "masculin", "hombre", "masculino", "maschio", "8507"},
	},
	{
		{"yes", "y", "ja", "j", "true", "wahr", "oui", "si", "sí", "sim", "tak", "ano", "kyllä",
			"evet", "1",
			"t"},
		{"no", "n", "nein", "false", "falsch", "non", "nee", "nej", "nei", "não", "nie", "ne", "ei",
			"hayır", "0", "f"},
	},
	{{"former", "ex", "ehemals", "ehemalig", "früher", "exraucher", "exsmoker", "ancien"}},
	{{"alive", "lebend", "lebt", "vivant"}},
	{{"dead", "died", "verstorben", "tot", "deceased", "décédé"}},
}

// meansTheSame reports whether two names usually mean the same. Units in brackets are ignored.
func meansTheSame(a, b string) bool {
	a, b = withoutUnit(a), withoutUnit(b)
	return a == b || slices.ContainsFunc(sameThing, func(names []string) bool {
		return slices.Contains(names, a) && slices.Contains(names, b)
	})
}

func withoutUnit(name string) string {
	if i := strings.IndexAny(name, "([{"); i > 0 {
		name = name[:i]
	}
	return yamlfile.Simplify(name)
}

// spelt writes a text without case, and without spaces, points, hyphens and underscores between
// letters: "ex-smoker" is "ex smoker". Other signs mean something: A+ is not A-, and -1 is not 1.
func spelt(text string) string {
	text = strings.ToLower(norm.NFC.String(strings.TrimSpace(text)))
	for range 2 { // matches do not overlap: a-b-c
		text = betweenLetters.ReplaceAllString(text, "$1$2")
	}
	return text
}

var betweenLetters = regexp.MustCompile(`(\pL)[-_. ]+(\pL)`)

// levelFor returns a text's level: the same text, the same letters, or a common word for it; "" if
// unclear.
func levelFor(text string, levels []string) string {
	if slices.Contains(levels, text) {
		return text
	}
	one := func(same func(level string) bool) string {
		found := ""
		for _, l := range levels {
			if same(l) {
				if found != "" {
					return ""
				}
				found = l
			}
		}
		return found
	}
	if l := one(func(l string) bool { return sameSpelling(l, text) }); l != "" {
		return l
	}
	for _, group := range sameWord {
		found, holds := "", true
		for _, words := range group {
			level := one(func(l string) bool { return slices.Contains(words, spelt(l)) })
			holds = holds && level != ""
			if slices.Contains(words, spelt(text)) {
				found = level
			}
		}
		if holds && found != "" {
			return found
		}
	}
	return ""
}

// missingBeside are the usual marks of missing values in a column with these texts: - is none
// beside +, where it means no.
func missingBeside(texts map[string]int) []string {
	return slices.DeleteFunc(dataset.MissingTexts(), func(mark string) bool {
		return mark == "-" && texts["+"] > 0
	})
}

// guessLevels returns the levels of a column's texts. A code of one character, or a number, means
// something only beside the column's other texts: 1 is yes beside 0, but beside 2 it may be no; M
// is male beside F, but beside H it is mujer. So codes that are no levels themselves are guessed
// only if each text of the column has a level, and a code shares its level with no other text. If
// codes of several cells have no level, and a level has no text, then codes that
// are levels may mean others: unsure lists all codes.
func guessLevels(texts map[string]int, levels []string) (guess map[string]string, unsure []string) {
	guess = map[string]string{}
	last, has := map[string]string{}, map[string]bool{} // by level: a text; whether one is spelt so
	clear, strange := true, false
	signs := map[string]string{}
	if texts["+"] > 0 {
		signs = map[string]string{"+": "yes", "-": "no"}
	}
	for text, n := range texts {
		level := levelFor(cmp.Or(signs[text], text), levels)
		if isCode(text) {
			unsure = append(unsure, text)
			strange = strange || level == "" && n >= often
		}
		if clear = clear && level != ""; level == "" {
			continue
		}
		guess[text] = level
		if sameSpelling(text, level) {
			has[level] = true
		}
		if other, taken := last[level]; taken && !sameSpelling(text, other) {
			clear = clear && !isCode(text) && !isCode(other)
		}
		last[level] = text
	}
	if !clear || len(texts) < 2 {
		maps.DeleteFunc(guess, func(text, level string) bool {
			return isCode(text) && !sameSpelling(text, level)
		})
	}
	asked := func(text string) bool { return sameSpelling(text, guess[text]) }
	if !strange || !slices.ContainsFunc(unsure, asked) || len(has) == len(levels) {
		return guess, nil
	}
	slices.Sort(unsure)
	return guess, unsure
}

func sameSpelling(a, b string) bool {
	v, isA := parseNumber(a, "")
	w, isB := parseNumber(b, "")
	return spelt(a) == spelt(b) || isA && isB && v == w
}

func isCode(text string) bool {
	_, isNumber := parseNumber(text, "")
	return isNumber || len([]rune(spelt(text))) == 1
}
