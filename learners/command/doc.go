// Package command is about a classifier or scorer that is another program, in any language.
//
// It serves sites and researchers whose records another program learns best. To classify, the program
// gets the records and the rows to vote on as two CSV files and prints one class per line (Program.Vote
// defines the format). To score, it gets the rows as one CSV file and prints one number per line
// (Program.Score).
//
// It guarantees:
//
//   - A program ends: at its time limit its whole process group is killed, and its folder removed.
//   - It gets only those files and, from the environment, the paths of programs, the home folder
//     and the temporary folder: no other variable, no open file.
//   - An answer is exactly one known class, or one number in [0,1], for each row; else an error says
//     what is wrong.
//
// It does not confine a program, which runs under the caller's account and can read what that
// account can read. A process that leaves its group on purpose outlives it. The memory limit of
// each process is enforced on Linux only.
package command
