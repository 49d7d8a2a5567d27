import type { Stats } from "node:fs";

// Who but the user of this process, and root, could have written a file or what is in a folder. ACLs are not read.

const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

export const EVERY_USER = "every user";

type Rights = Pick<Stats, "uid" | "gid" | "mode">;

/** The number of who runs this; null where users have none (Windows), and their own folders are closed to others. */
export function currentUser(): number | null {
  return process.geteuid?.() ?? null;
}

/** It is another user's, and not root's. */
export function isForeign({ uid }: Rights, user: number): boolean {
  return uid !== user && uid !== 0;
}

/** Who else may write it; null where nobody may. The group that has the number of its user is that user's own; root's is as trusted as root. */
export function otherWriters({ mode, gid }: Rights, user: number): string | null {
  if ((mode & OTHERS_WRITE) !== 0) return EVERY_USER;
  return (mode & GROUP_WRITES) !== 0 && gid !== user && gid !== 0 ? `the group ${gid}` : null;
}

/** Whoever may write the folder can add to it, and replace nothing of others (/tmp). */
export function isSticky({ mode }: Rights): boolean {
  return (mode & STICKY) !== 0;
}

/** Nobody else may put something in the place of what the user has in this folder. */
export function keepsWhatIsInIt(stats: Rights, user: number): boolean {
  return !isForeign(stats, user) && (otherWriters(stats, user) === null || isSticky(stats));
}
