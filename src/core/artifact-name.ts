import { hasInvisible } from "./visible-text.ts";

/** What Pawl writes into the workspace of a run itself, from the store: nobody else may. */
export const TELEMETRY_FILES: readonly string[] = ["trace.json", "transcript.md", "run.log"];

/** The file that says whose folder it is; nobody but Pawl is to see or change it. */
export const RUN_MARK = ".pawl-run";

const MAX_BYTES = 1_024;

/** What these look like is a matter of the font. */
const PRIVATE_USE = /\p{Co}/u;

/** Where Git keeps what it runs: hooks, and the configuration that names programs. Windows has a short name for it, too. */
const GIT_FOLDER = /^(?:\.git|git~\d+)$/i;

/** Devices of Windows, with whatever ending: writing to one there is writing to no file. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])(?:\..*)?$/i;

/** Why this cannot name a file of a workspace; null where it can. Such a name leads to one place on every system. */
export function artifactNameProblem(name: unknown): string | null {
  if (typeof name !== "string" || name === "") return "give it a name";
  if (/[\p{Cc}\\:*?"<>|]/u.test(name) || !name.isWellFormed())
    return 'leave out control characters and \\ : * ? " < > |';
  if (hasInvisible(name) || PRIVATE_USE.test(name)) return "leave out characters that nobody can see";
  if (Buffer.byteLength(name, "utf8") > MAX_BYTES) return `use at most ${MAX_BYTES} bytes`;
  if (name.startsWith("/")) return "use a path inside the workspace, without a leading /";
  if (name.toLowerCase() === RUN_MARK) return "a note of Pawl's own is there";
  const parts = name.split("/");
  if (parts.some((part) => part === "" || part === "." || part === ".."))
    return 'use a path inside the workspace, without "..", "." or an empty part';
  if (parts.some((part) => Buffer.byteLength(part, "utf8") > 255 || part.endsWith(" ") || part.endsWith(".")))
    return "use parts of at most 255 bytes that end in neither a space nor a dot";
  if (parts.some((part) => GIT_FOLDER.test(part))) return "leave .git to Git, which runs what lies there";
  if (parts.some((part) => DEVICE.test(part.replace(/ +(?=\.|$)/g, ""))))
    return "leave CON, PRN, AUX, NUL, COM1 and their like to Windows, which has devices of these names";
  return null;
}
