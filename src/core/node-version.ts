/** The oldest Node that Pawl runs on, as in `engines` of package.json. */
const OLDEST = [22, 18] as const;

/** Why Pawl cannot run on this version of Node, and what to do; null if it can. This module must load on any version. */
export function nodeVersionProblem(version: string): string | null {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return null;
  return `Pawl needs Node ${OLDEST.join(".")} or newer and this is ${version}: install a newer one from https://nodejs.org and try again.`;
}
