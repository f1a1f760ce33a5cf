package mapping

import (
	"slices"
	"strings"

	"caucus/internal/yamlfile"
)

// sameThing lists column names with the same meaning, without case, spaces and signs.
var sameThing = [][]string{
	{"age", "alter", "lebensalter", "alterinjahren", "ageyears", "ageatadmission", "edad", "eta", "leeftijd", "geburtsdatum", "geburtstag", "gebdat", "birthdate", "dateofbirth", "dob", "born", "birthday", "birthdatetime", "geboren", "datedenaissance"},
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

// sameWord lists texts for the same level.
var sameWord = [][]string{
	{"f", "female", "woman", "w", "weiblich", "frau", "femme", "féminin", "mujer", "femenino", "vrouw", "femmina", "8532"},
	{"m", "male", "man", "männlich", "maennlich", "mann", "homme", "masculin", "hombre", "masculino", "maschio", "8507"},
	{"yes", "y", "ja", "j", "true", "wahr", "oui", "si", "sí", "1", "t"},
	{"no", "n", "nein", "false", "falsch", "non", "nee", "0", "f"},
	{"former", "ex", "ehemals", "ehemalig", "früher", "exraucher", "exsmoker", "ancien"},
	{"alive", "lebend", "lebt", "vivant"},
	{"dead", "died", "verstorben", "tot", "deceased", "décédé"},
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
	return yamlfile.Bare(name)
}

// levelFor returns a text's level: the same text, the same letters, or a common word for it; "" if unclear.
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
	if l := one(func(l string) bool { return yamlfile.Bare(l) == yamlfile.Bare(text) }); l != "" {
		return l
	}
	return one(func(l string) bool {
		return slices.ContainsFunc(sameWord, func(words []string) bool {
			return slices.Contains(words, yamlfile.Bare(l)) && slices.Contains(words, yamlfile.Bare(text))
		})
	})
}
