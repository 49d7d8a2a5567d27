import type { Answer } from "../../api/client.ts";
import { counted, countWords } from "../../words/money-words.ts";
import { exactWords, longDurationWords } from "../../words/time-words.ts";

type Errors = Answer<"listErrors">;
/** The time that errors were asked for, and the length of its parts. */
type ErrorSpan = Pick<Errors, "since" | "asOf" | "bucketMs">;
type ErrorTimes = Pick<Errors["items"][number], "count" | "buckets">;

/** How many runs failed in each part of the time, also where none did. */
export function failedCounts(
  { since, asOf, bucketMs }: ErrorSpan,
  { buckets }: ErrorTimes,
): readonly number[] {
  const from = Date.parse(since);
  const counts = Array<number>(Math.max(1, Math.ceil((Date.parse(asOf) - from) / bucketMs))).fill(0);
  for (const { at, count } of buckets) {
    // The clock of the database may be ahead of the server's.
    const index = Math.min(counts.length - 1, Math.floor((Date.parse(at) - from) / bucketMs));
    counts[index] = (counts[index] ?? 0) + count;
  }
  return counts;
}

/** The same for those who do not see the bars. */
export function failedWords({ since, asOf, bucketMs }: ErrorSpan, { count, buckets }: ErrorTimes): string {
  const all = `${counted(count, "run")} failed in ${longDurationWords(Date.parse(asOf) - Date.parse(since))}`;
  const [first, ...others] = buckets;
  if (first === undefined) return all;
  const most = others.reduce((found, bucket) => (bucket.count > found.count ? bucket : found), first);
  const when = `in the ${longDurationWords(bucketMs)} from ${exactWords(Date.parse(most.at))}`;
  return others.length === 0 ? `${all}, ${when}` : `${all}; the most, ${countWords(most.count)}, ${when}`;
}
