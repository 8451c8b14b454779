// For balancers and orchestrators: alive as long as the process answers, ready only while it can do its work.

import type { FastifyInstance } from 'fastify'
import type { HttpShellOptions } from './options.ts'

export function registerHealth(
  app: FastifyInstance,
  ready: HttpShellOptions['ready'],
  isStopping: () => boolean,
): void {
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    const { ready: isReady, reasons } = isStopping()
      ? { ready: false, reasons: ['The service is stopping.'] }
      : await ready()
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? 'ready' : 'unavailable', reasons })
  })
}
