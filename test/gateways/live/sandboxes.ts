// How a person gets test credentials of each provider, and how a payment is made and refused in its sandbox.

export interface ProviderSandbox {
  /** Where to sign up, and what to copy from there. */
  signUp: string
  /** How the person pays in the sandbox. */
  pay: string
  /** How the person lets a payment fail. */
  decline: string
  /** The place to try, unless the options name another. */
  usual: { currency: string; country: string; channel: string; network?: string; amount?: string }
  /** There is no sandbox: the run takes live credentials and moves real money. */
  movesRealMoney?: true
}

export const SANDBOXES: Readonly<Record<string, ProviderSandbox>> = {
  stripe: {
    signUp:
      'Sign up at https://dashboard.stripe.com/register, stay in test mode, and copy a secret key from Developers → API keys.',
    pay: 'Pay with the card 4242 4242 4242 4242, any future date and any code.',
    decline: 'Pay with the card 4000 0000 0000 9995, then leave the page.',
    usual: { currency: 'USD', country: 'US', channel: 'card' },
  },
  paystack: {
    signUp:
      'Sign up at https://dashboard.paystack.com/#/signup, stay in test mode, and copy the test secret key from Settings → API Keys & Webhooks.',
    pay: 'Choose the test card "Success" on the page.',
    decline: 'Choose the test card "Declined" on the page.',
    usual: { currency: 'NGN', country: 'NG', channel: 'card' },
  },
  flutterwave: {
    signUp:
      'Sign up at https://app.flutterwave.com/register, switch to test mode, and copy the secret key from Settings → API keys (v3); set the secret hash in Settings → Webhooks.',
    pay: 'Pay with a test card of https://developer.flutterwave.com/docs/test-cards.',
    decline: 'Pay with the test card for "Declined" of the same page.',
    usual: { currency: 'NGN', country: 'NG', channel: 'card' },
  },
  pawapay: {
    signUp:
      'Sign up at https://dashboard.sandbox.pawapay.io, set the callback addresses, and generate an API token under System configuration.',
    pay: 'Use a test number of https://docs.pawapay.io/v2/docs/test_numbers that completes; the sandbox approves it by itself.',
    decline: 'Use a test number of the same page that fails with INSUFFICIENT_BALANCE.',
    usual: { currency: 'ZMW', country: 'ZM', channel: 'mobile_money', network: 'mtn_zm' },
  },
  mtn_momo: {
    signUp:
      'Sign up at https://momodeveloper.mtn.com, subscribe to Collection, create an API user with POST /v1_0/apiuser and its key with POST /v1_0/apiuser/{id}/apikey.',
    pay: 'The sandbox approves by itself: prompt a number that is not in its list of failing numbers.',
    decline:
      'Prompt a number of the list at https://momodeveloper.mtn.com/api-documentation/testing that is rejected.',
    usual: { currency: 'EUR', country: 'UG', channel: 'mobile_money', network: 'mtn_ug' },
  },
  daraja: {
    signUp:
      'Sign up at https://developer.safaricom.co.ke, create an app with M-Pesa Express, and copy its consumer key, its consumer secret and the passkey of the test credentials.',
    pay: 'The sandbox prompts no real phone: use the test number 254708374149, and wait for its callback.',
    decline: 'Let the prompt expire.',
    usual: { currency: 'KES', country: 'KE', channel: 'mobile_money', network: 'mpesa_ke' },
  },
  wave: {
    signUp:
      'Wave has no sandbox: a business account (https://www.wave.com/en/business) creates API keys in its portal. The run pays and refunds a small amount.',
    pay: 'Confirm the payment in the app of Wave.',
    decline: 'Leave the page of Wave without a payment.',
    usual: { currency: 'XOF', country: 'SN', channel: 'mobile_money', amount: '100' },
    movesRealMoney: true,
  },
  chapa: {
    signUp:
      'Sign up at https://dashboard.chapa.co, stay in test mode, and copy the secret key from Settings → API; set a secret hash for webhooks there.',
    pay: 'Use a test number or card of https://developer.chapa.co/test/testing-mobile.',
    decline: 'Cancel on the page of Chapa.',
    usual: { currency: 'ETB', country: 'ET', channel: 'mobile_money' },
  },
  paymob: {
    signUp:
      'Sign up at https://accept.paymob.com, stay in test mode, and copy the secret key, the public key, the API key, the HMAC secret and the ids of the test integrations.',
    pay: 'Use a test card of https://developers.paymob.com (Test credentials).',
    decline: 'Use a card with a wrong code, then leave the page.',
    usual: { currency: 'EGP', country: 'EG', channel: 'card' },
  },
  bkash: {
    signUp:
      'Ask bKash for sandbox credentials of Tokenized Checkout at https://developer.bka.sh: app key, app secret, user name and password.',
    pay: 'Use the wallet number, the one-time code and the PIN that bKash gave you for the sandbox.',
    decline: 'Cancel on the page of bKash.',
    usual: { currency: 'BDT', country: 'BD', channel: 'mobile_money' },
  },
  sslcommerz: {
    signUp:
      'Register at https://developer.sslcommerz.com/registration, and copy the store id and the store password from the e-mail.',
    pay: 'Pay with the card 4111 1111 1111 1111, 12/26, 111, and the code 111111.',
    decline: 'Choose "Failed" on the page of the test bank.',
    usual: { currency: 'BDT', country: 'BD', channel: 'card' },
  },
}
