import type { EventContext, Message, Receiver, Sender } from 'rhea';
import { answerManagement, toReplyMessage } from './amqp-management.ts';
import { asRecord } from './amqp-message.ts';
import type { SubQueue } from '../queue/message.ts';
import type { QueueHost } from '../queue/queue-host.ts';
import { sendFields } from './rhea-internals.ts';

/** Where the replies of one connection go: links by the address (or name) that requests give as `reply-to`. */
export type ReplyLinks = Map<string, Sender>;

/** Remembers a reply link under its names; the answer forgets it. */
export function addReplyLink(replies: ReplyLinks, sender: Sender): () => void {
  const target = asRecord(sender.target)['address'];
  const names = [sender.name, ...(typeof target === 'string' ? [target] : [])];
  for (const name of names) replies.set(name, sender);
  return () => {
    for (const name of names) if (replies.get(name) === sender) replies.delete(name);
  };
}

/** Serves `$cbs`: every token is good. 202 is what Service Bus answers. */
export function serveTokens(receiver: Receiver, replies: ReplyLinks): void {
  receiver.on('message', ({ message, delivery }: EventContext) => {
    delivery?.accept();
    if (message === undefined) return;
    const status = { 'status-code': 202, 'status-description': 'Accepted' };
    reply(replies, message, {
      correlation_id: message['message_id'],
      application_properties: status,
      body: undefined,
    });
  });
}

/** Serves the `$management` node of a queue or its dead-letter queue; replies go out once the work is kept. */
export function serveManagement(
  receiver: Receiver,
  node: {
    readonly host: QueueHost;
    readonly sub: SubQueue;
    readonly replies: ReplyLinks;
    holderOf(link: string): string;
  },
): void {
  receiver.on('message', ({ message, delivery }: EventContext) => {
    delivery?.accept();
    if (message === undefined) return;
    const properties = asRecord(message['application_properties']);
    const link = properties['associated-link-name'];
    const answer = node.host.run((queue, now) =>
      answerManagement(properties['operation'], {
        queue,
        now,
        sub: node.sub,
        holder: typeof link === 'string' ? node.holderOf(link) : null,
        body: asRecord(message['body']),
      }),
    );
    node.host.afterWrite(() => {
      reply(node.replies, message, toReplyMessage(message, answer));
    });
  });
}

/** A request that names no open reply link is left unanswered: there is nobody to tell. */
function reply(replies: ReplyLinks, request: Message, answer: Readonly<Record<string, unknown>>): void {
  const sender = replies.get(String(request['reply_to']));
  if (sender?.is_open() === true) sendFields(sender, answer);
}
