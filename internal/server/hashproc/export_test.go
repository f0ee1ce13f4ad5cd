package hashproc

// Begin is New with another limit for answers.
var Begin = begin
