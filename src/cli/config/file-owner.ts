import type { Stats } from "node:fs";

// Which users besides this process's user and root could have written a file or a folder's content. ACLs are not read.

const GROUP_WRITES = 0o020;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

export const EVERY_USER = "every user";

type Rights = Pick<Stats, "uid" | "gid" | "mode">;

/** The effective user id; null on Windows, where user folders are closed to other users. */
export function currentUser(): number | null {
  return process.geteuid?.() ?? null;
}

/** True if another user, other than root, owns it. */
export function isForeign({ uid }: Rights, user: number): boolean {
  return uid !== user && uid !== 0;
}

/** Which other users may write it; null if none. The user's own group (same id) counts as the user, root's group as root. */
export function otherWriters({ mode, gid }: Rights, user: number): string | null {
  if ((mode & OTHERS_WRITE) !== 0) return EVERY_USER;
  return (mode & GROUP_WRITES) !== 0 && gid !== user && gid !== 0 ? `the group ${gid}` : null;
}

/** In a sticky folder (/tmp), users may add files but not replace those of others. */
export function isSticky({ mode }: Rights): boolean {
  return (mode & STICKY) !== 0;
}

/** True if no other user can replace the user's files in this folder. */
export function isProtected(stats: Rights, user: number): boolean {
  return !isForeign(stats, user) && (otherWriters(stats, user) === null || isSticky(stats));
}
