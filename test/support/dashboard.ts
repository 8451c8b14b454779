// People at the dashboard, over HTTP: they join by an invitation of the operator, and keep their cookies like a browser.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { sql } from '../../src/kit/db/db.ts'
import type { Role } from '../../src/people/roles.ts'
import { type ApiResponse, createApi } from './api.ts'
import type { TestService } from './service.ts'

export const PASSWORD = 'correct horse battery'

export interface Visitor {
  get(path: string, headers?: Record<string, string>): Promise<ApiResponse>
  /** Submits the fields as a browser on the same site does. */
  post(path: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<ApiResponse>
  /** Opens the page, fills the form with this action, and submits it with its hidden fields. */
  submit(page: string, action: string, fields?: Record<string, string>): Promise<ApiResponse>
  /** Like submit, for a form with files. */
  upload(
    page: string,
    action: string,
    fields: Record<string, string>,
    files: Record<string, { name: string; content: string | Uint8Array<ArrayBuffer> }>,
  ): Promise<ApiResponse>
  cookies: Map<string, string>
}

/** A browser without a session. */
export function newVisitor({ url, publicUrl }: Pick<TestService, 'url' | 'publicUrl'>): Visitor {
  const api = createApi(url, { accept: 'text/html', 'sec-fetch-site': 'same-origin', origin: publicUrl })
  const cookies = new Map<string, string>()
  const keep = (answer: ApiResponse) => {
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/max-age=0/i.test(line)) cookies.delete(name)
      else cookies.set(name, value)
    }
    return answer
  }
  const cookie = () => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const get: Visitor['get'] = async (path, headers) =>
    keep(await api.get(path, { cookie: cookie(), ...headers }))
  const post: Visitor['post'] = async (path, fields, headers) =>
    keep(
      await api.send('POST', path, {
        body: new URLSearchParams(fields).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded', cookie: cookie(), ...headers },
      }),
    )
  return {
    get,
    post,
    cookies,
    async submit(page, action, fields = {}) {
      const { text } = await get(page)
      return post(action, { ...hiddenFields(text, action), ...fields })
    },
    async upload(page, action, fields, files) {
      const { text } = await get(page)
      const form = new FormData()
      for (const [name, value] of Object.entries({ ...hiddenFields(text, action), ...fields }))
        form.set(name, value)
      for (const [field, { name, content }] of Object.entries(files))
        form.set(field, new File([content], name))
      const encoded = new Response(form)
      const headers = { 'content-type': encoded.headers.get('content-type') ?? '', cookie: cookie() }
      return keep(await api.send('POST', action, { body: await encoded.bytes(), headers }))
    },
  }
}

/** The hidden fields of the form with this action. */
export function hiddenFields(page: string, action: string): Record<string, string> {
  const [, form] = page.split(`method="post" action="${action}">`)
  assert.ok(form !== undefined, `no form posts to ${action}`)
  const [inside = ''] = form.split('</form>')
  const inputs = inside.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)
  return Object.fromEntries(
    [...inputs].map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')]),
  )
}

/** An operator who has joined by an invitation, signed in. */
export async function signInAsOperator(
  service: TestService,
  visitor: Visitor = newVisitor(service),
): Promise<Visitor & { email: string }> {
  const email = `operator-${randomUUID()}@example.com`
  const invited = await service.admin.post('/admin/v1/operator-invitations', { email })
  await join(visitor, invited, 'An operator')
  return { ...visitor, email }
}

async function join(visitor: Visitor, invited: ApiResponse, name: string): Promise<void> {
  assert.equal(invited.http, 201, invited.text)
  const page = new URL(invited.body.data.link).pathname
  const joined = await visitor.submit(page, page, { name, password: PASSWORD })
  assert.equal(joined.http, 303, joined.text)
}

/** An account of the merchant's own at Paystack, which is not asked about it. */
export async function saveOwnAccount(
  service: TestService,
  merchantId: string,
  name = 'paystack',
): Promise<void> {
  const path = `/admin/v1/merchants/${merchantId}/gateways/${name}?probe=false`
  const saved = await service.admin.send('PUT', path, {
    body: JSON.stringify({ credentials: { secretKey: `sk_test_${'0123456789'.repeat(4)}` } }),
    headers: { 'content-type': 'application/json' },
  })
  assert.ok(saved.http < 300, saved.text)
}

const setRole = sql<unknown>`
update memberships
set role = $3
where merchant_id = $1
  and user_id = (select id from users where email = $2)`

/** A person of the merchant with this role, signed in. */
export async function signInAs(
  service: TestService,
  merchantId: string,
  role: Role = 'owner',
): Promise<Visitor & { email: string }> {
  const email = `${role}-${randomUUID()}@example.com`
  const invited = await service.admin.post(`/admin/v1/merchants/${merchantId}/owner-invitations`, { email })
  const visitor = newVisitor(service)
  await join(visitor, invited, `A ${role}`)
  if (role !== 'owner') await service.db.query(setRole, [merchantId, email, role])
  return { ...visitor, email }
}
