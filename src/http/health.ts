// Health checks for load balancers and orchestrators: /healthz while the process responds, /readyz while it can
// serve.

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
