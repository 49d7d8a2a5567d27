import { QueryClient, QueryClientProvider, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { createClient, pathOf } from "../api/client.ts";
import type { Me } from "../api/documents.ts";
import { PawlProblem } from "../api/problem.ts";
import { LiveStore } from "../live/live-store.ts";
import { startLive } from "../live/live-tabs.ts";
import { ProblemNotice } from "../parts/notice.tsx";
import { DashboardContext } from "./dashboard-context.ts";
import { ErrorBoundary } from "./error-boundary.tsx";
import { Shell } from "./shell.tsx";
import { SignIn } from "./sign-in.tsx";
import { takeCode } from "./sign-in-code.ts";

const client = createClient({ baseUrl: "" });

/** Once a load: the code works once, and must not stay in the address or the history. */
const code = takeCode();

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The stream says when something has changed; a refusal stays one, and everything else is worth another try.
      staleTime: 5_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) => failures < 3 && !(error instanceof PawlProblem && error.status < 500),
      retryDelay: (failures) => Math.min(300 * 2 ** failures, 5_000),
    },
  },
});

export function App(): ReactNode {
  return (
    <ErrorBoundary>
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
    queryFn: ({ signal }) =>
      code === null ? client.getMe({}, { signal }) : client.createSession({}, { code }),
    staleTime: Number.POSITIVE_INFINITY,
    retry: (failures, error) => code === null && failures < 3 && !(error instanceof PawlProblem),
  });
  if (me.data !== undefined) return <SignedIn me={me.data} />;
  if (me.error === null) return null;
  if (me.error instanceof PawlProblem && (me.error.status === 401 || code !== null)) {
    return (
      <SignIn
        client={client}
        problem={code === null ? null : me.error}
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

function SignedIn({ me }: { readonly me: Me }): ReactNode {
  const cache = useQueryClient();
  const [live] = useState(() => new LiveStore());
  useEffect(() => {
    const ended = new AbortController();
    const stop = live.onSignal(({ kind }) => {
      if (kind === "reset")
        void cache.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" });
    });
    const stopState = live.onState(() => {
      if (live.state().connection.status === "signed_out") void cache.resetQueries({ queryKey: ["me"] });
    });
    startLive(live, pathOf("stream", {}), ended.signal);
    return () => {
      ended.abort();
      stop();
      stopState();
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
