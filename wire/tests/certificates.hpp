// Authorities and certificates made on the spot, in a folder that goes when the test does.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace wire::testing {

class certificates {
public:
    struct files {
        std::string certificate;
        std::string key;
    };
    struct authority {
        X509* certificate = nullptr;
        EVP_PKEY* key = nullptr;
    };
    struct wishes {
        std::string name = {};          // common name
        std::string alternatives = {};  // "DNS:localhost,IP:127.0.0.1"
        long valid_from = -3600;        // seconds from now
        long valid_until = 24 * 3600;
        bool signed_by_other = false;  // by the authority of other_ca_file()
        std::string purposes = {};     // "OCSPSigning"; none: for everything
        std::string features = {};     // "status_request": must-staple
    };

    certificates() {
        std::string pattern = (std::filesystem::temp_directory_path() / "wire-tls-XXXXXX").string();
        EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        authority_ = make_authority("ca");
    }
    ~certificates() {
        for (const auto& one : {authority_, other_}) {
            X509_free(one.certificate);
            EVP_PKEY_free(one.key);
        }
        std::filesystem::remove_all(folder_);
    }
    certificates(const certificates&) = delete;
    certificates& operator=(const certificates&) = delete;

    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    std::string ca_file() const { return path("ca.pem"); }
    // Of an authority that has signed nothing.
    std::string other_ca_file() {
        if (other_.key == nullptr) other_ = make_authority("other");
        return path("other.pem");
    }
    // Signed by the authority of ca_file(); `file`: what to call the two files.
    files issue(const std::string& file, const wishes& w) {
        if (w.signed_by_other) other_ca_file();
        return issue(file, w, EVP_EC_gen("P-256"));
    }
    // The same with an RSA key.
    files issue_rsa(const std::string& file, const wishes& w) {
        return issue(file, w, EVP_RSA_gen(2048));
    }
    files for_localhost() {
        return issue("localhost",
                     {.name = "localhost", .alternatives = "DNS:localhost,IP:127.0.0.1,IP:::1"});
    }
    std::string encrypted_key(const std::string& file) {
        EVP_PKEY* const key = EVP_EC_gen("P-256");
        write_key(path(file), key, "secret");
        EVP_PKEY_free(key);
        return path(file);
    }
    // A copy of that key, encrypted.
    std::string lock(const std::string& key_file, const std::string& file) {
        std::FILE* const f = std::fopen(key_file.c_str(), "r");
        EVP_PKEY* const key = PEM_read_PrivateKey(f, nullptr, nullptr, nullptr);
        std::fclose(f);
        write_key(path(file), key, "secret");
        EVP_PKEY_free(key);
        return path(file);
    }
    std::string text_file(const std::string& file, const std::string& text) {
        std::ofstream(path(file)) << text;
        return path(file);
    }

    // Those of ca_file() and other_ca_file(), for as long as this lives.
    const authority& ca() const { return authority_; }
    const authority& other_ca() {
        other_ca_file();
        return other_;
    }

private:
    // Takes the key.
    files issue(const std::string& file, const wishes& w, EVP_PKEY* key) {
        const authority& by = w.signed_by_other ? other_ : authority_;
        X509* const made = begin(w, key, by.certificate);
        if (!w.alternatives.empty())
            add(made, by.certificate, NID_subject_alt_name, w.alternatives.c_str());
        if (!w.purposes.empty()) add(made, by.certificate, NID_ext_key_usage, w.purposes.c_str());
        if (!w.features.empty()) add(made, by.certificate, NID_tlsfeature, w.features.c_str());
        EXPECT_GT(X509_sign(made, by.key, EVP_sha256()), 0);
        const files out{path(file + ".pem"), path(file + ".key")};
        write(out.certificate, made);
        write_key(out.key, key, nullptr);
        X509_free(made);
        EVP_PKEY_free(key);
        return out;
    }

    authority make_authority(const std::string& name) {
        authority a;
        a.key = EVP_EC_gen("P-256");
        a.certificate = begin({.name = "test authority " + name}, a.key, nullptr);
        add(a.certificate, a.certificate, NID_basic_constraints, "critical,CA:TRUE");
        EXPECT_GT(X509_sign(a.certificate, a.key, EVP_sha256()), 0);
        write(path(name + ".pem"), a.certificate);
        return a;
    }
    static X509* begin(const wishes& w, EVP_PKEY* key, X509* issuer) {
        static long serial = 1;
        X509* const x = X509_new();
        X509_set_version(x, X509_VERSION_3);
        ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial);
        X509_gmtime_adj(X509_getm_notBefore(x), w.valid_from);
        X509_gmtime_adj(X509_getm_notAfter(x), w.valid_until);
        X509_set_pubkey(x, key);
        X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                                   reinterpret_cast<const unsigned char*>(w.name.c_str()), -1, -1,
                                   0);
        X509_set_issuer_name(x, X509_get_subject_name(issuer != nullptr ? issuer : x));
        return x;
    }
    static void add(X509* to, X509* issuer, int nid, const char* value) {
        X509V3_CTX context;
        X509V3_set_ctx_nodb(&context);
        X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
        X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
        ASSERT_NE(extension, nullptr) << value;
        X509_add_ext(to, extension, -1);
        X509_EXTENSION_free(extension);
    }
    static void write(const std::string& path, X509* certificate) {
        std::FILE* const f = std::fopen(path.c_str(), "w");
        EXPECT_EQ(PEM_write_X509(f, certificate), 1);
        std::fclose(f);
    }
    static void write_key(const std::string& path, EVP_PKEY* key, const char* password) {
        std::FILE* const f = std::fopen(path.c_str(), "w");
        EXPECT_EQ(PEM_write_PrivateKey(f, key, password != nullptr ? EVP_aes_128_cbc() : nullptr,
                                       nullptr, 0, nullptr, const_cast<char*>(password)),
                  1);
        std::fclose(f);
    }

    std::filesystem::path folder_;
    authority authority_;
    authority other_;
};

}  // namespace wire::testing
