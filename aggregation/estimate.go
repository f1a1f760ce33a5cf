package aggregation

// Normal95 is the 97.5 % quantile of the normal law: 95 % lie within ±Normal95 deviations.
const Normal95 = 1.959963984540054

// MinTotalSDs is the least number of records for which there are shares and means, in standard
// deviations of its noise.
const MinTotalSDs = 4
