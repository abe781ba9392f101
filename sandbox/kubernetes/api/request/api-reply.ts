import type { ServerResponse } from 'node:http';

/** An answer whose text is complete. */
export interface TextReply {
  readonly status: number;
  readonly contentType: string;
  readonly text: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Texts for Warning headers. */
  readonly warnings?: ReadonlyArray<string>;
}

/** An answer that goes on: takes the open response and ends it itself. */
export interface StreamReply {
  readonly stream: (response: ServerResponse) => void;
}

/** What a request is answered with. */
export type ApiReply = TextReply | StreamReply;

/** A JSON answer from a text or a value. */
export function jsonReply(status: number, body: unknown, warnings: ReadonlyArray<string> = []): TextReply {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { status, contentType: 'application/json', text, warnings };
}

/** A plain text answer. */
export function textReply(status: number, text: string): TextReply {
  return { status, contentType: 'text/plain; charset=utf-8', text };
}
