package dataset

import "gonum.org/v1/gonum/mat"

// Records are encoded rows, the input of learners and sums.
type Records struct {
	// X holds one record per row, with Schema.Dim columns and entries in [0,1]. Without records it
	// is 0×0, as gonum has no 0×d.
	X *mat.Dense
	// Y is each record's class, 0..K-1; -1 if the label is absent or unknown.
	Y []int
	// Party and Patient name each record's party and patient; nil if schema or table has no such
	// column.
	Party, Patient []string
	// FailsCondition marks the records that a study's condition excludes; each is an empty record
	// (Schema.EncodeWhere). Nil for a study of all records.
	FailsCondition []bool
}

// IsExcluded reports whether the study's condition excludes record i, which then counts as an empty
// one.
func (r *Records) IsExcluded(i int) bool { return r.FailsCondition != nil && r.FailsCondition[i] }

// Len counts all records, those outside and those without a label too. It works where X is 0×0.
func (r *Records) Len() int { return len(r.Y) }

// Select copies the records at the given rows, in order. It panics on an absent row.
func (r *Records) Select(rows []int) *Records {
	s := &Records{X: &mat.Dense{}, Y: pickRows(r.Y, rows)}
	if r.Party != nil {
		s.Party = pickRows(r.Party, rows)
	}
	if r.Patient != nil {
		s.Patient = pickRows(r.Patient, rows)
	}
	if r.FailsCondition != nil {
		s.FailsCondition = pickRows(r.FailsCondition, rows)
	}
	if len(rows) > 0 {
		_, d := r.X.Dims()
		s.X = mat.NewDense(len(rows), d, nil)
		for i, row := range rows {
			copy(s.X.RawRowView(i), r.X.RawRowView(row))
		}
	}
	return s
}
