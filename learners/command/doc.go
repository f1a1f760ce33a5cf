// Package command is about a classifier, or what scores records, that is somebody else's
// program, in any language.
//
// It is for a site, or a researcher, whose records are learned best by something
// that is not built in. The program is given the records and the rows to vote on as
// two CSV files, and answers one class a line (Program.Vote says in which form); or the rows to score as one, and answers one number a line (Program.Score). It
// guarantees that
//
//   - a program ends: at its time limit it is killed, with all processes of its group,
//     and what it wrote into its folder is removed;
//   - what it is told is those files, and of the environment only where programs,
//     the home folder and temporary files are: no other variable, no open file;
//   - an answer is exactly one known class, or one number in [0,1], for each row, or an
//     error that says what is wrong.
//
// It does not confine a program: it runs under the account of whoever runs this
// one, and may read what that account may read. A process that leaves its group on
// purpose outlives it. How much memory each process may have is limited on Linux
// only.
package command
