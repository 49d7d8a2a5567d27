import { approvalNeedOf } from "../core/person.ts";
import { asksPermission } from "../core/wait.ts";
import { counted } from "../export/figures.ts";
import type { WaitRecord } from "../store/store.ts";

/** A sentence that says who else must approve a call. */
export function stillNeeded({ subject, people }: Pick<WaitRecord, "subject" | "people">): string {
  const { people: all, notStarter } = approvalNeedOf(subject);
  const names = people.map(({ name }) => name).join(" and ");
  const but = [
    ...(names === "" ? [] : [`not ${names}`]),
    ...(notStarter ? ["not the starter of the run"] : []),
  ];
  const left = all - people.length;
  const who = `${counted(left, "person", "people")}${names === "" ? "" : " more"}`;
  return `It needs approval by ${who}${but.length === 0 ? "" : `, ${but.join(", ")}`}.`;
}

/** True if one arbitrary person is not enough to approve it. */
export function needsMore({ kind, subject }: Pick<WaitRecord, "kind" | "subject">): boolean {
  const { people, notStarter } = approvalNeedOf(subject);
  return asksPermission(kind) && (people > 1 || notStarter);
}
