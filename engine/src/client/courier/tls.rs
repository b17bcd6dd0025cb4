//! The client's side of TLS.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};

use super::config::TlsConfig;
use crate::error::Result;
use crate::net::tls::{certificates, from_files, unusable};

pub fn client_config(tls: &TlsConfig) -> Result<Arc<ClientConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Arc::new(Verifier { chain: chain_verifier(tls, &provider)?, provider: provider.clone() });
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let builder = match &verifier.chain {
        Some((chain, true)) => builder.with_webpki_verifier(chain.clone()),
        _ => builder.dangerous().with_custom_certificate_verifier(verifier),
    };
    let config = match &tls.identity {
        Some((chain, key)) => {
            let (chain, key) = from_files(chain, key)?;
            builder.with_client_auth_cert(chain, key).map_err(unusable)?
        }
        None => builder.with_no_client_auth(),
    };
    Ok(Arc::new(config))
}

type Chain = Option<(Arc<WebPkiServerVerifier>, bool)>;

fn chain_verifier(tls: &TlsConfig, provider: &Arc<CryptoProvider>) -> Result<Chain> {
    let Some(trusted) = &tls.trusted else { return Ok(None) };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(trusted)? {
        roots.add(certificate).map_err(unusable)?;
    }
    let builder = WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone());
    Ok(Some((builder.build().map_err(unusable)?, tls.check_host)))
}

/// Believes every server, or every one whose certificate is trusted, whatever host that names.
#[derive(Debug)]
struct Verifier {
    chain: Chain,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, TlsError> {
        let Some((chain, _)) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(TlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
