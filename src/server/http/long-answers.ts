import type { Route } from "../api/routes.ts";
import { HttpProblem } from "../http-problem.ts";
import { heldResponse } from "./held-response.ts";
import type { DocumentAnswer } from "./operation-answer.ts";
import { Slots } from "./slots.ts";

const MOST_STREAMS = 100;
/** A browser takes two, however many tabs it has: so a person may have some browsers and scripts, and not the whole server. */
const MOST_OF_ONE = 50;
/** Each has its bytes in memory, or those of one file of an archive. */
const MOST_DOWNLOADS = 32;

type Answer = DocumentAnswer | Response;

export type LongAnswerLimits = {
  readonly streams?: number;
  /** The streams of one person. */
  readonly streamsOfOne?: number;
  readonly downloads?: number;
};

/** The answers that take as long as their readers do: streams and downloads. There is one limit for each of the two. */
export class LongAnswers {
  readonly #streams: Slots;
  readonly #mostOfOne: number;
  /** Of the people who have streams. */
  readonly #own = new Map<string, Slots>();
  readonly #downloads: Slots;
  readonly #closing: AbortSignal;

  /** Streams are broken when `closing` aborts. */
  constructor(
    closing: AbortSignal,
    { streams = MOST_STREAMS, streamsOfOne = MOST_OF_ONE, downloads = MOST_DOWNLOADS }: LongAnswerLimits = {},
  ) {
    this.#closing = closing;
    this.#mostOfOne = streamsOfOne;
    this.#streams = new Slots(streams, tooManyStreams);
    this.#downloads = new Slots(downloads, tooManyDownloads);
  }

  get streams(): number {
    return this.#streams.taken;
  }

  get downloads(): number {
    return this.#downloads.taken;
  }

  /**
   * Answers in a slot, which is taken before anything is done, and freed when the answer was read or its client has left:
   * also one that left while the answer was being made. Answers of other routes are small, and need none. A person is their
   * name, with any number of tokens and sessions.
   */
  async hold(
    { answers }: Route,
    { signal }: Request,
    person: string,
    answer: () => Promise<Answer>,
  ): Promise<Answer> {
    const kind = answers[200];
    if (kind !== "stream" && kind !== "bytes") return answer();
    const free = kind === "stream" ? this.#takeStream(person, signal) : this.#downloads.take(signal);
    try {
      const answered = await answer();
      if (answered instanceof Response && answered.status === 200)
        return heldResponse(answered, {
          until: kind === "stream" ? [signal, this.#closing] : [signal],
          release: free,
        });
      free();
      return answered;
    } catch (error) {
      free();
      throw error;
    }
  }

  #takeStream(person: string, signal: AbortSignal): () => void {
    const own = this.#own.get(person) ?? new Slots(this.#mostOfOne, tooManyOfOne);
    const freeOwn = own.take(signal);
    this.#own.set(person, own);
    const leave = (): void => {
      freeOwn();
      if (own.taken === 0 && this.#own.get(person) === own) this.#own.delete(person);
    };
    try {
      const free = this.#streams.take(signal);
      return () => {
        free();
        leave();
      };
    } catch (error) {
      leave();
      throw error;
    }
  }
}

function tooManyOfOne(most: number): HttpProblem {
  return new HttpProblem(
    429,
    "too_many_own_streams",
    `You have ${most} open streams, which is all that one person may have: close some of your pages or programs.`,
  );
}

function tooManyStreams(most: number): HttpProblem {
  return new HttpProblem(
    503,
    "too_many_streams",
    `The server has ${most} open streams, which is all that it allows: close a page, or try again later.`,
  );
}

function tooManyDownloads(most: number): HttpProblem {
  return new HttpProblem(
    503,
    "too_many_downloads",
    `${most} downloads are under way, which is all that the server allows: try again when one of them is done.`,
  );
}
