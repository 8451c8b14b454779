// Sends requests to Flutterwave.

import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Connection } from '../definition.ts'

export interface Client {
  get(path: string): Promise<HttpResult>
  post(path: string, body: object): Promise<HttpResult>
}

export function createClient({ credentials, baseUrl, http }: Connection): Client {
  const { secretKey } = credentials
  if (!secretKey) throw new Error('Flutterwave cannot be opened without its secretKey')
  // Flutterwave documents its URL with the version, so an operator may enter it with the version too.
  const root = `${baseUrl.replace(/\/v3$/, '')}/v3`
  const authorization = `Bearer ${secretKey}`
  return {
    get: (path) => http.request({ method: 'GET', url: `${root}${path}`, headers: { authorization } }),
    post: (path, body) =>
      http.request({
        method: 'POST',
        url: `${root}${path}`,
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  }
}
