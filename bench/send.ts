// Single requests with fetch, before a measurement.

/** Sends a request of the load driver, and returns the body of the response. */
export function sendOnce(url: string, bytes: string): Promise<string> {
  const [head = '', body = ''] = bytes.split('\r\n\r\n')
  const [, path = ''] = head.split(' ')
  const [, key = ''] = /x-api-key: (\S+)/.exec(head) ?? []
  return request(`${url}${path}`, key, body)
}

/** A POST if there is a body. */
export async function request(url: string, key: string, body = ''): Promise<string> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  const answer = await fetch(url, body === '' ? { headers } : { method: 'POST', headers, body })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${url} answered HTTP ${answer.status}: ${text}`)
  return text
}
