// The script of the API reference. It is committed as a gzip file, so that the service needs no run-time package for it.

import { join } from 'node:path'
import apiReference from '@scalar/fastify-api-reference'
import { fastify } from 'fastify'

export const BUNDLE_FILE = join(import.meta.dirname, '../../src/http/assets/api-reference.js.gz')

/** Reads the script from the package. The package serves it from a fastify plugin and does not export it. */
export async function readPackageBundle(): Promise<Buffer> {
  const server = fastify()
  server.register(apiReference, { routePrefix: '/docs', configuration: { url: '/openapi.json' } })
  const { statusCode, rawPayload } = await server.inject('/docs/js/scalar.js')
  await server.close()
  if (statusCode !== 200)
    throw new Error(`@scalar/fastify-api-reference answered ${statusCode} for its script`)
  return rawPayload
}
