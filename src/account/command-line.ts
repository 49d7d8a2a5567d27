/** Quotes a word for a POSIX shell, if needed. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-][\w@%+=:,./~#-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** A command of Pawl with these words, ready to paste. It names no store: that of the folder where it is run is meant. */
export function commandLine(...words: readonly string[]): string {
  return ["pawl", ...words].map(quoted).join(" ");
}
