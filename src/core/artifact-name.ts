import { hasInvisible } from "./visible-text.ts";

/** The files that Pawl itself writes into the workspace of a run, from the store. Tools and steps may not write them. */
export const TELEMETRY_FILES: readonly string[] = ["trace.json", "transcript.md", "run.log"];

/** The file that names the run that a folder belongs to. Only Pawl may read or change it. */
export const RUN_MARK = ".pawl-run";

const MAX_BYTES = 1_024;

/** The font decides what these characters look like. */
const PRIVATE_USE = /\p{Co}/u;

/** Git keeps what it executes there: hooks, and a configuration that names programs. Windows has a short name for it, too. */
const GIT_FOLDER = /^(?:\.git|git~\d+)$/i;

/** Device names of Windows, with any extension: a write to one of them creates no file. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])(?:\..*)?$/i;

/**
 * The reason why this cannot name a file of a workspace; null if it can. A name without a problem leads to the same file on
 * every system.
 */
export function artifactNameProblem(name: unknown): string | null {
  if (typeof name !== "string" || name === "") return "give it a name";
  if (/[\p{Cc}\\:*?"<>|]/u.test(name) || !name.isWellFormed())
    return 'leave out control characters and \\ : * ? " < > |';
  if (hasInvisible(name) || PRIVATE_USE.test(name)) return "leave out invisible characters";
  if (Buffer.byteLength(name, "utf8") > MAX_BYTES) return `use at most ${MAX_BYTES} bytes`;
  if (name.startsWith("/")) return "use a path inside the workspace, without a leading /";
  if (name.toLowerCase() === RUN_MARK) return "the name is reserved for a file of Pawl";
  const parts = name.split("/");
  if (parts.some((part) => part === "" || part === "." || part === ".."))
    return 'use a path inside the workspace, without "..", "." or an empty part';
  if (parts.some((part) => Buffer.byteLength(part, "utf8") > 255 || part.endsWith(" ") || part.endsWith(".")))
    return "use parts of at most 255 bytes that end in neither a space nor a dot";
  if (parts.some((part) => GIT_FOLDER.test(part))) return "leave .git to Git, which runs what is in it";
  if (parts.some((part) => DEVICE.test(part.replace(/ +(?=\.|$)/g, ""))))
    return "leave out CON, PRN, AUX, NUL, COM1 and the like, which are devices on Windows";
  return null;
}
