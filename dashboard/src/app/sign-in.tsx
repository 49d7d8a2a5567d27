import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { Client } from "../api/client.ts";
import type { Me } from "../api/documents.ts";
import { Button } from "../parts/controls/button.tsx";
import { Command } from "../parts/layout/empty-state.tsx";
import { ProblemNotice } from "../parts/layout/notice.tsx";

type SignInProps = {
  readonly client: Client;
  /** Why the code of the address was not accepted. */
  readonly problem: Error | null;
  readonly onSignedIn: (me: Me) => void;
};

export function SignIn({ client, problem, onSignedIn }: SignInProps): ReactNode {
  const [token, setToken] = useState("");
  const signIn = useMutation({
    mutationFn: () => client.createSession({}, { token: token.trim() }),
    onSuccess: onSignedIn,
  });
  const error = signIn.error ?? problem;
  return (
    <main className="mx-auto flex max-w-md flex-col gap-5 px-4 pt-[14vh] pb-10">
      <h1 className="text-lg font-semibold">Sign in to Pawl</h1>
      {error !== null && <ProblemNotice error={error} what="The link or token was not accepted." />}
      <section className="flex flex-col gap-2">
        <h2 className="font-medium">With a link</h2>
        <p className="text-ink-2">
          The server prints a link when it starts. It works once, for five minutes.
        </p>
        <div>
          <Command text="pawl serve" />
        </div>
      </section>
      <form
        className="flex flex-col gap-2 border-t border-line pt-5"
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim() !== "") signIn.mutate();
        }}
      >
        <label htmlFor="token" className="font-medium">
          With a token
        </label>
        <div className="flex gap-2">
          <input
            id="token"
            type="password"
            autoComplete="off"
            spellCheck={false}
            placeholder="pawl_…"
            value={token}
            onChange={({ target }) => setToken(target.value)}
            className="h-7 min-w-0 flex-1 rounded-md border border-edge bg-panel px-2 font-mono text-xs placeholder:text-ink-3"
          />
          <Button type="submit" kind="primary" disabled={token.trim() === "" || signIn.isPending}>
            Sign in
          </Button>
        </div>
        <p className="text-xs text-ink-3">The token is sent once, and not kept in this browser.</p>
      </form>
    </main>
  );
}
