// A merchant with every visible setting, so that the tests check each screen with branding.

import assert from 'node:assert/strict'
import type { Api } from '../support/api.ts'
import { dataUriOf } from '../support/images.ts'
import type { TestService } from '../support/service.ts'

const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 88 88"><rect width="88" height="88" rx="20" fill="#35408f"/>
<path d="M44 29c-8-6-18-7-27-5v37c9-2 19-1 27 5 8-6 18-7 27-5V24c-9-2-19-1-27 5z" fill="#fff"/>
<path d="M44 29v37" stroke="#35408f" stroke-width="4"/><path d="M55 23v23l5-5 5 5V23z" fill="#f2a63b"/></svg>`

export const BRAND = {
  displayName: 'Duka la Vitabu',
  supportEmail: 'help@duka.example',
  supportPhone: '+254700123456',
  supportUrl: 'https://duka.example/help',
  accentColor: '#35408f',
}

/** A new merchant with the brand and the other settings. */
export async function brandedMerchant(
  service: Pick<TestService, 'admin' | 'newMerchant'>,
  logo: string = dataUriOf(LOGO),
): Promise<Api> {
  const { uuid, api } = await service.newMerchant()
  const answer = await service.admin.send('PATCH', `/admin/v1/merchants/${uuid}`, {
    body: JSON.stringify({ settings: { branding: { ...BRAND, logo } } }),
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(answer.http, 200, answer.text)
  return api
}
