package describe

var ()
