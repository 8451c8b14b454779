// A process with one empty route of the web framework: the cost of a response without any work.

import { fastify } from 'fastify'

const app = fastify({ logger: false })
const schema = {
  response: { 200: { type: 'object', properties: { status: { type: 'string' } }, required: ['status'] } },
}
app.get('/bare', { schema }, async () => ({ status: 'success' }))
process.send?.({ url: await app.listen({ host: '127.0.0.1', port: 0 }) })
process.on('disconnect', () => process.exit(0))
