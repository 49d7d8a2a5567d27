import {
  type Query,
  QueryClient,
  QueryClientProvider,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { createClient, PawlProblem, requester } from "../api/client.ts";
import type { Me } from "../api/documents.ts";
import { DashboardContext } from "../live/dashboard-context.ts";
import { LiveStore } from "../live/live-store.ts";
import { startLive } from "../live/live-tabs.ts";
import { ErrorBoundary } from "../parts/layout/error-boundary.tsx";
import { ProblemNotice } from "../parts/layout/notice.tsx";
import { Shell } from "./shell.tsx";
import { SignIn } from "./sign-in.tsx";
import { takeCode } from "./sign-in-code.ts";

const client = createClient();
const request = requester({});

/** Once a load: the code works once, and must not stay in the address or the history. */
const given = { code: takeCode(), refusal: null as PawlProblem | null };

/** Signs in with the code of the address, once; then asks who the person is. */
async function readMe(signal: AbortSignal): Promise<Me> {
  const { code } = given;
  if (code === null) return client.getMe({ signal });
  try {
    const me = await client.createSession({}, { code });
    given.code = null;
    return me;
  } catch (error) {
    // Without an answer it may be tried again.
    if (error instanceof PawlProblem) Object.assign(given, { code: null, refusal: error });
    throw error;
  }
}

const queries = new QueryClient({
  defaultOptions: {
    // A server on this machine is there without a network. An act that waited for one would be sent when nobody expects it.
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
      // The stream says when something has changed; a refusal stays one, and everything else is worth another try.
      staleTime: 5_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) => failures < 3 && !(error instanceof PawlProblem && !error.recoverable),
      retryDelay: (failures) => Math.min(300 * 2 ** failures, 5_000),
    },
  },
});

export function App(): ReactNode {
  return (
    <ErrorBoundary of="page">
      <QueryClientProvider client={queries}>
        <Gate />
      </QueryClientProvider>
    </ErrorBoundary>
  );
}

/** Asks who the person is. A code in the address is used first. */
function Gate(): ReactNode {
  const cache = useQueryClient();
  const me = useQuery({
    queryKey: ["me"],
    queryFn: ({ signal }) => readMe(signal),
    staleTime: Number.POSITIVE_INFINITY,
    retry: (failures, error) => failures < 3 && !(error instanceof PawlProblem),
  });
  // Another person, or another role, begins with an empty page.
  if (me.data !== undefined) return <SignedIn key={`${me.data.role} ${me.data.name}`} me={me.data} />;
  if (me.error === null) return null;
  if (me.error instanceof PawlProblem && (me.error.status === 401 || me.error === given.refusal)) {
    return (
      <SignIn
        client={client}
        problem={me.error === given.refusal ? me.error : null}
        onSignedIn={(signedIn) => cache.setQueryData(["me"], signedIn)}
      />
    );
  }
  return (
    <main className="mx-auto max-w-lg p-4 pt-24">
      <ProblemNotice
        error={me.error}
        what="The dashboard could not be opened."
        since={me.errorUpdatedAt}
        onRetry={() => void me.refetch()}
      />
    </main>
  );
}

/** All but who is signed in. */
function isOfStore({ queryKey }: Query): boolean {
  return queryKey[0] !== "me";
}

function SignedIn({ me }: { readonly me: Me }): ReactNode {
  const cache = useQueryClient();
  const [live] = useState(() => new LiveStore());
  useEffect(() => {
    const ended = new AbortController();
    const stop = live.onSignal((signal) => {
      if (signal.kind === "reset") void cache.invalidateQueries({ predicate: isOfStore });
      if (signal.kind === "gone") void cache.invalidateQueries({ queryKey: ["run", signal.runId] });
      if (signal.kind === "back") {
        // What has not failed follows the stream, which continues where it broke.
        void cache.refetchQueries({ type: "active", predicate: ({ state }) => state.status === "error" });
        // The server breaks a stream also when its reader is no longer who they were.
        void cache.invalidateQueries({ queryKey: ["me"] });
      }
    });
    const stopState = live.onState(() => {
      if (live.state().connection.status === "signed_out") void cache.resetQueries({ queryKey: ["me"] });
    });
    startLive(live, (lastId, signal) => request("stream", {}, { lastId, signal }), ended.signal);
    return () => {
      ended.abort();
      stop();
      stopState();
      cache.removeQueries({ predicate: isOfStore });
    };
  }, [cache, live]);
  const dashboard = useMemo(() => {
    const signOut = async (): Promise<void> => {
      await client.deleteSession().catch(() => undefined);
      cache.clear();
      location.assign("/");
    };
    return { client, live, me, signOut: () => void signOut() };
  }, [cache, live, me]);
  return (
    <DashboardContext value={dashboard}>
      <Shell />
    </DashboardContext>
  );
}
