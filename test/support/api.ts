// An HTTP client that returns the status, headers and body of every response.

export interface ApiResponse {
  http: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any shape and asserts on it
  body: any
  text: string
}

export interface Api {
  get(path: string, headers?: Record<string, string>): Promise<ApiResponse>
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<ApiResponse>
  /** Sends the body unchanged, for values that JSON.stringify cannot write. */
  postText(
    path: string,
    text: string | Uint8Array<ArrayBuffer>,
    headers?: Record<string, string>,
  ): Promise<ApiResponse>
  send(method: string, path: string, init?: RequestInit): Promise<ApiResponse>
}

export function createApi(url: string, common: Record<string, string>): Api {
  const send: Api['send'] = async (method, path, init = {}) => {
    const headers = { ...common, ...(init.headers as Record<string, string> | undefined) }
    const answer = await fetch(`${url}${path}`, { redirect: 'manual', ...init, method, headers })
    const text = await answer.text()
    return { http: answer.status, headers: answer.headers, text, body: parse(text) }
  }
  const json = { 'content-type': 'application/json' }
  return {
    send,
    get: (path, headers) => send('GET', path, { headers }),
    post: (path, body, headers) =>
      send('POST', path, { body: JSON.stringify(body), headers: { ...json, ...headers } }),
    postText: (path, body, headers) => send('POST', path, { body, headers: { ...json, ...headers } }),
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
