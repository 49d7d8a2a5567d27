import { Component, type ReactNode } from "react";
import { Button } from "../parts/button.tsx";
import { Notice } from "../parts/notice.tsx";

type State = { readonly error: Error | null; readonly at: string };

/** A fault of the page itself. The rest of the dashboard stays; another `resetKey` tries again. */
export class ErrorBoundary extends Component<
  { readonly children: ReactNode; readonly resetKey?: string },
  State
> {
  override state: State = { error: null, at: this.props.resetKey ?? "" };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  static getDerivedStateFromProps(
    props: { readonly resetKey?: string },
    state: State,
  ): Partial<State> | null {
    const at = props.resetKey ?? "";
    return at === state.at ? null : { error: null, at };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <main className="mx-auto w-full max-w-2xl p-4 pt-12">
        <Notice
          kind="problem"
          title="This page has failed."
          action={<Button onClick={() => location.reload()}>Reload</Button>}
        >
          <p>Runs are not affected: the page only shows them. Reload it; if it fails again, report this:</p>
          <p className="mt-1 font-mono text-xs">{error.message}</p>
        </Notice>
      </main>
    );
  }
}
