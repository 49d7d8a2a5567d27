import { Session } from "node:inspector/promises";

/** Pawl's own work for the pieces of an answer: reading them, hiding secrets, collecting and writing them. */
const OWN =
  /\/src\/(?:adapters\/ai-sdk\/ai-sdk-stream|engine\/run\/(?:hidden-)?live|store\/.*live-|core\/secret\/streamed)/;
/** Reading a stream to its end is the work of the provider's package, with or without Pawl. */
const STREAMS = /internal\/webstreams\//;

const INTERVAL_US = 200;

/** The part of the time that a process works in which it does that work, by a profile. Run it on a quiet machine. */
export async function liveShare(work: () => Promise<unknown>): Promise<number> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: INTERVAL_US });
  await session.post("Profiler.start");
  await work();
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const callers = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])),
  );
  const isOwn = (id: number): boolean => {
    for (let at: number | undefined = id; at !== undefined; at = callers.get(at)) {
      const url = nodes.get(at)?.callFrame.url ?? "";
      if (STREAMS.test(url)) return false;
      if (OWN.test(url)) return true;
    }
    return false;
  };
  let [busy, own] = [0, 0];
  for (const [i, id] of (profile.samples ?? []).entries()) {
    if (nodes.get(id)?.callFrame.functionName === "(idle)") continue;
    const time = profile.timeDeltas?.[i] ?? 0;
    busy += time;
    if (isOwn(id)) own += time;
  }
  if (own === 0) throw new Error("The profile shows nothing of live parts: have their files been renamed?");
  return own / busy;
}
