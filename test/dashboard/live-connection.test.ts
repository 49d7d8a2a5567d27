import { expect, test } from "vitest";
import { type LiveConnection, stayConnected } from "../../dashboard/src/live/live-connection.ts";

/** A server that answers each request with the next of these, and what a page hears of it. */
async function connect(
  answers: readonly (() => Response | Promise<Response>)[],
  cursor: string | null = null,
) {
  const ended = new AbortController();
  const asked: (string | null)[] = [];
  const heard: string[] = [];
  const waited: number[] = [];
  const options: LiveConnection = {
    cursor,
    signal: ended.signal,
    now: () => 1_000,
    connect: (lastId) => {
      asked.push(lastId);
      const answer = answers[asked.length - 1];
      if (answer === undefined) ended.abort();
      return Promise.resolve(answer?.() ?? Promise.reject(new Error("The page was closed.")));
    },
    pause: (ms) => {
      waited.push(ms);
      return Promise.resolve();
    },
    onConnection: ({ status }) => heard.push(status),
    onEvent: ({ event }) => heard.push(event),
  };
  await stayConnected(options);
  return { asked, heard, waited };
}

const HELLO = 'id: 7\nevent: hello\ndata: {"version":"1","instance":"p","asOf":"2026-11-18T12:00:00Z"}\n\n';
const stream = (text: string) => () => new Response(text);
const refused = (status: number) => () => new Response(null, { status });

test("a stream that ends is opened again, from the last event", async () => {
  const { asked, heard } = await connect([stream(HELLO), stream(HELLO)]);
  expect(asked).toEqual([null, "7", "7"]);
  expect(heard).toEqual(["live", "hello", "reset", "lost", "live", "hello", "lost"]);
});

test("what changed before a stream without a cursor began is fetched; with one, nothing was missed", async () => {
  expect((await connect([stream(HELLO)])).heard).toContain("reset");
  expect((await connect([stream(HELLO)], "6")).heard).not.toContain("reset");
});

test("502 of a proxy and a network that fails are waited out", async () => {
  const broken = () => Promise.reject(new TypeError("Failed to fetch"));
  const { heard, waited } = await connect([refused(502), broken, refused(503), stream(HELLO)]);
  expect(heard.slice(0, 5)).toEqual(["lost", "lost", "lost", "live", "hello"]);
  const most = [300, 600, 1_000, 300];
  expect(waited.slice(0, 4).map((ms, at) => ms / (most[at] ?? 1))).toSatisfy((shares: readonly number[]) =>
    shares.every((share) => share >= 0.5 && share <= 1),
  );
});

test("a session that has ended is not asked for again", async () => {
  const { asked, heard } = await connect([refused(401), stream(HELLO)]);
  expect(asked).toHaveLength(1);
  expect(heard).toEqual(["signed_out"]);
});

test("tries are at most a second apart for some half a minute, and then at most five", async () => {
  const { waited } = await connect(Array.from({ length: 60 }, () => refused(503)));
  expect(waited).toHaveLength(60);
  expect(Math.min(...waited)).toBeGreaterThanOrEqual(150);
  const soon = waited.findIndex((ms) => ms > 1_000);
  expect(waited.slice(0, soon).reduce((sum, ms) => sum + ms, 0)).toBeGreaterThan(15_000);
  expect(Math.min(...waited.slice(soon))).toBeGreaterThanOrEqual(2_500);
  expect(Math.max(...waited)).toBeLessThanOrEqual(5_000);
});

test("an event that cannot be read is a connection that broke, and not the end", async () => {
  const { asked, heard } = await connect([stream("id: 7\nevent: head\ndata: {\n\n"), stream(HELLO)], "6");
  expect(asked).toEqual(["6", "6", "7"]);
  expect(heard).toEqual(["live", "lost", "live", "hello", "lost"]);
});
