package dataset

const (
	BinSquare = binSquare
	FAMDCut   = famdCut
)

var Centred = centred
