package dataset

import "gonum.org/v1/gonum/mat"

// Records are encoded rows: what learners and sums work on.
type Records struct {
	// X holds a record a row, with Schema.Dim columns, every entry in [0,1].
	// Without records it is an empty matrix (0×0), because gonum has no 0×d.
	X *mat.Dense
	// Y is the class of each record, 0..K-1; -1 where the label is absent or
	// unknown.
	Y []int
	// Party and Patient name whom a record belongs to; nil when the schema does not
	// name such a column or the table does not have it.
	Party, Patient []string
	// Outside says of each record whether a study that is about some records only is
	// not about it; it is then the empty record (Schema.EncodeWhere). Nil where a study
	// is about all.
	Outside []bool
}

// IsOutside says so of one record.
func (r *Records) IsOutside(i int) bool { return r.Outside != nil && r.Outside[i] }

// Len is the number of records.
func (r *Records) Len() int { return len(r.Y) }

// Select is the records at the given rows, in that order, copied. It panics when
// a row does not exist.
func (r *Records) Select(rows []int) *Records {
	s := &Records{X: &mat.Dense{}, Y: pickRows(r.Y, rows)}
	if r.Party != nil {
		s.Party = pickRows(r.Party, rows)
	}
	if r.Patient != nil {
		s.Patient = pickRows(r.Patient, rows)
	}
	if r.Outside != nil {
		s.Outside = pickRows(r.Outside, rows)
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
