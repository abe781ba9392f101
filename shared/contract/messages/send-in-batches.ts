/** What the Service Bus client's batch and sender have in common for whoever only sends. */
interface Batch<Message> {
  readonly count: number;
  tryAddMessage(message: Message): boolean;
}

interface BatchSender<Message, Filled extends Batch<Message>> {
  createMessageBatch(): Promise<Filled>;
  sendMessages(messages: Message | Filled): Promise<void>;
}

/**
 * Sends `messages` in order, in as few requests as the queue's limit on the size of one allows. When it throws, some
 * may have been taken.
 */
export async function sendInBatches<Message, Filled extends Batch<Message>>(
  sender: BatchSender<Message, Filled>,
  messages: ReadonlyArray<Message>,
): Promise<void> {
  const [only] = messages;
  // The limit is asked of the service, which one message can do without.
  if (messages.length === 1 && only !== undefined) return sender.sendMessages(only);
  let batch = await sender.createMessageBatch();
  for (const message of messages) {
    if (batch.tryAddMessage(message)) continue;
    // One after the other: the first of them are of the first objects.
    await sender.sendMessages(batch);
    batch = await sender.createMessageBatch();
    if (!batch.tryAddMessage(message)) throw new Error('a message is larger than the queue takes');
  }
  if (batch.count > 0) await sender.sendMessages(batch);
}
