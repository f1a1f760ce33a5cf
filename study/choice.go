package study

// Choice is the rule by which one record of each patient is chosen for a study at unit patient. The
// record follows from the patient's own records and the site's key, whatever the study asks of it:
// a condition (Plan.Where) is evaluated on the chosen record.
type Choice string

const (
	// ByKey chooses by the site's key: each of a patient's records is as likely.
	ByKey Choice = ""
	// First chooses by the day in the column dataset.Schema.PatientDate, and by key among records
	// of one day. A record without a day is chosen if the patient has no other.
	First Choice = "first"
	// Last chooses like First, by the latest day.
	Last Choice = "last"
)

// Choices lists all rules.
func Choices() []Choice { return []Choice{ByKey, First, Last} }
