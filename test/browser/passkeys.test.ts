// A passkey in a real browser with a virtual authenticator: it is added, signs in without a password, and is removed.

import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { signInAs } from '../support/dashboard.ts'
import { findFreePort } from '../support/deployment.ts'
import { testService } from '../support/service.ts'
import { newVisitor, startBrowser } from './browser.ts'

// Browsers have no passkeys for an address like 127.0.0.1.
const port = String(await findFreePort())
const url = `http://localhost:${port}`
const service = await testService({ after }, { env: { PORT: port, COWRY_PUBLIC_URL: url } })
const browser = await startBrowser({ after })
const merchant = await service.newMerchant()

const AUTHENTICATOR = {
  ...({ protocol: 'ctap2', transport: 'internal', hasResidentKey: true } as const),
  ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
}

it('signs in with a passkey that was added in the browser, until it is removed', async (t) => {
  const { page, problems } = await newVisitor(t, browser, { origins: [url] })
  const { cookies } = await signInAs({ ...service, url }, merchant.uuid)
  await page.context().addCookies([...cookies].map(([name, value]) => ({ name, value, url })))
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: AUTHENTICATOR,
  })

  await page.goto(`${url}/app/account`)
  await page.getByRole('link', { name: 'Add a passkey' }).click()
  await page.getByLabel('Name').fill('This laptop')
  await page.getByRole('button', { name: 'Create the passkey' }).click()
  await page.getByRole('status').waitFor()
  await page.getByRole('cell', { name: 'This laptop' }).waitFor()
  const { credentials } = await devtools.send('WebAuthn.getCredentials', { authenticatorId })
  assert.deepEqual(
    credentials.map(({ rpId, isResidentCredential }) => [rpId, isResidentCredential]),
    [['localhost', true]],
  )

  const signOut = page.getByRole('button', { name: 'Sign out' }).first()
  await signOut.click()
  // The page asks the browser by itself, and the authenticator answers.
  await page.getByRole('link', { name: 'Sign in with a passkey' }).click()
  await page.waitForURL(`${url}/app`)

  await page.goto(`${url}/app/account`)
  await page.locator('summary', { hasText: 'Change' }).click()
  await page.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('status').waitFor()
  await signOut.click()
  await page.getByRole('link', { name: 'Sign in with a passkey' }).click()
  await page.getByRole('alert').filter({ visible: true }).waitFor()
  assert.equal(new URL(page.url()).pathname, '/app/sign-in/passkey')
  // The browser reports the refusal of the last form.
  assert.deepEqual(
    problems.filter((text) => !text.includes('401')),
    [],
  )
})
