import { app } from '@azure/functions';
import { answerHealth } from './answer-health.ts';

/**
 * `GET /api/health`, with the app's key: 200 when the app can do its work, else 503, with what is wrong and how to mend
 * it.
 */
app.http('health', {
  route: 'health',
  methods: ['GET'],
  authLevel: 'function',
  handler: (_request, context) => answerHealth(context),
});
